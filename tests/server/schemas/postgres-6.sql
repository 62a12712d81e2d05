CREATE TABLE steps (number INTEGER PRIMARY KEY);

    CREATE TABLE surveys (
        name TEXT PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        definition TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'closed'))
    );

    CREATE TABLE reports (
        id BYTEA PRIMARY KEY CHECK (length(id) = 16),
        survey TEXT NOT NULL REFERENCES surveys (name),
        report TEXT NOT NULL
    );
    CREATE INDEX reports_of_a_survey ON reports (survey, id);

    CREATE TABLE totals (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        reports BIGINT NOT NULL CHECK (reports >= 0)
    );

    CREATE TABLE tallies (
        survey TEXT NOT NULL REFERENCES surveys (name),
        question TEXT NOT NULL,
        choice BIGINT NOT NULL,
        count BIGINT NOT NULL CHECK (count >= 0),
        PRIMARY KEY (survey, question, choice)
    );

    CREATE TABLE answered (
        survey TEXT NOT NULL REFERENCES surveys (name),
        question TEXT NOT NULL,
        reports BIGINT NOT NULL CHECK (reports >= 0),
        PRIMARY KEY (survey, question)
    );

    CREATE TABLE settings (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
    );

    CREATE TABLE register (
        number BIGINT PRIMARY KEY,
        event TEXT NOT NULL,
        survey TEXT NOT NULL REFERENCES surveys (name),
        entry TEXT NOT NULL,
        hash TEXT NOT NULL CHECK (length(hash) = 64),
        UNIQUE (survey, event)
    );

    CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
    END $$;

    CREATE TRIGGER a_definition_never_changes
    BEFORE UPDATE OF name, digest, definition ON surveys
    EXECUTE FUNCTION never('a published definition never changes');

    CREATE TRIGGER a_definition_is_never_deleted
    BEFORE DELETE OR TRUNCATE ON surveys
    EXECUTE FUNCTION never('a published definition never changes');

    CREATE TRIGGER a_closed_survey_stays_closed
    BEFORE UPDATE OF state ON surveys FOR EACH ROW
    WHEN (OLD.state = 'closed' AND NEW.state <> 'closed')
    EXECUTE FUNCTION never('a closed survey is not opened again');

    CREATE TRIGGER a_report_never_changes
    BEFORE UPDATE ON reports
    EXECUTE FUNCTION never('a stored report never changes');

    CREATE FUNCTION continues() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.number <> (SELECT count(*) + 1 FROM register)
            OR (NEW.entry::jsonb ->> 'number')::bigint <> NEW.number
            OR NEW.entry::jsonb ->> 'previous' <> coalesce(
                (SELECT hash FROM register ORDER BY number DESC LIMIT 1), repeat('0', 64))
        THEN
            RAISE EXCEPTION USING MESSAGE = 'an entry continues the one before it',
                ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END $$;

    CREATE TRIGGER the_register_continues BEFORE INSERT ON register
    FOR EACH ROW EXECUTE FUNCTION continues();

    CREATE TRIGGER the_register_is_never_changed
    BEFORE UPDATE OR DELETE OR TRUNCATE ON register
    EXECUTE FUNCTION never('an entry of the register never changes');
    

    CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        hash TEXT NOT NULL CHECK (length(hash) = 64),
        role TEXT NOT NULL CHECK (role IN ('author', 'analyst', 'operator')),
        survey TEXT,
        until TEXT NOT NULL CHECK (length(until) = 10),
        note TEXT NOT NULL,
        revoked BIGINT NOT NULL CHECK (revoked IN (0, 1))
    );

    INSERT INTO tokens
    SELECT 'first', value, 'author', NULL, '9999-12-31', 'from before tokens had roles', 0
    FROM settings WHERE key = 'author_token_sha256';

    DELETE FROM settings WHERE key = 'author_token_sha256';
    

    CREATE TABLE keys (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        secret TEXT NOT NULL
    );

    CREATE TABLE invitations (
        hash BYTEA PRIMARY KEY CHECK (length(hash) = 32),
        survey TEXT NOT NULL REFERENCES surveys (name),
        blinded BYTEA NOT NULL CHECK (length(blinded) = 32)
    );

    CREATE TRIGGER a_key_never_changes
    BEFORE UPDATE OR DELETE OR TRUNCATE ON keys
    EXECUTE FUNCTION never('the key of a survey never changes');

    CREATE TRIGGER a_used_invitation_stays_used
    BEFORE UPDATE ON invitations FOR EACH ROW
    WHEN (OLD.blinded <> decode(repeat('00', 32), 'hex'))
    EXECUTE FUNCTION never('a used invitation stays used');
    

    CREATE TABLE snapshots (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        reports BIGINT NOT NULL CHECK (reports >= 0),
        tallies TEXT NOT NULL
    );
    

    ALTER TABLE tokens DROP CONSTRAINT tokens_role_check;
    ALTER TABLE tokens ADD CONSTRAINT tokens_role_check
        CHECK (role IN ('author', 'analyst', 'monitor', 'operator'));
    

    CREATE TABLE issued (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        invitations BIGINT NOT NULL CHECK (invitations >= 0)
    );

    INSERT INTO issued SELECT survey, count(*) FROM invitations GROUP BY survey;
    
INSERT INTO steps VALUES (1);
INSERT INTO steps VALUES (2);
INSERT INTO steps VALUES (3);
INSERT INTO steps VALUES (4);
INSERT INTO steps VALUES (5);
INSERT INTO steps VALUES (6);
INSERT INTO surveys VALUES ('over', '08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca', '{"language":"en","name":"over","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}', 'closed');
INSERT INTO surveys VALUES ('some', 'e81d88467d44fb0704815deb8dca53146e53b4675eb8f4c505d9cf7667096dc7', '{"ask":1,"language":"en","name":"some","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}', 'open');
INSERT INTO surveys VALUES ('workplace', '469fd337a18c91515823cfa58d341f8ce9b056d2ff05f3c01f9575ec4c0c1d7e', '{"language":"en","name":"workplace","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}', 'open');
INSERT INTO reports VALUES ('\x04083b4b761d347884e3e60987acb213'::bytea, 'workplace', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x1239d8158aad9c38b99d71f74bd9f1d0'::bytea, 'over', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x123cfb44a27fef724a1bdadaa7cd5ba6'::bytea, 'some', '[null,[0,1]]');
INSERT INTO reports VALUES ('\x1319387f13afe4e1dd163f1d926ae48a'::bytea, 'some', '[[1],null]');
INSERT INTO reports VALUES ('\x22a7c42b5d4cb19650a43b5e4c5de9cb'::bytea, 'workplace', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x2a53bd3bde35635a3977c83b7c52e60f'::bytea, 'over', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x398cea55723ccfd7e40cbae7bb1ba7ba'::bytea, 'some', '[null,[0,1]]');
INSERT INTO reports VALUES ('\x3cbea9ddde348a3695d384ccfdb337d6'::bytea, 'some', '[null,[0,1]]');
INSERT INTO reports VALUES ('\x3ecb02bcf2404c51fa34f00ef5192c0c'::bytea, 'workplace', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x3ef745427ef79db5b60774abb44819aa'::bytea, 'workplace', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x625d841ce172cd9c67ea9ddd4f46313f'::bytea, 'over', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x7739d9ea6f8c5debb4f325aabad60166'::bytea, 'over', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x7a4a39dc685c7bfd1226d16455a8106c'::bytea, 'over', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x7fe937b7812825de3f84fe96ba8bbf21'::bytea, 'workplace', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x9fcc6505bc63257e8e3d76f1ae4f84c0'::bytea, 'over', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\xc2d9697756b2e5fbf1e104ec957d9533'::bytea, 'some', '[[1],null]');
INSERT INTO reports VALUES ('\xe0cd8cd6e70678a442452c675d1f9905'::bytea, 'workplace', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\xfb7c68533282aa554a342def3c749597'::bytea, 'some', '[[1],null]');
INSERT INTO totals VALUES ('over', 6);
INSERT INTO totals VALUES ('some', 6);
INSERT INTO totals VALUES ('workplace', 6);
INSERT INTO tallies VALUES ('over', 'stolen', 0, 3);
INSERT INTO tallies VALUES ('over', 'often', 1, 6);
INSERT INTO tallies VALUES ('over', 'often', 0, 6);
INSERT INTO tallies VALUES ('over', 'stolen', 1, 3);
INSERT INTO tallies VALUES ('some', 'stolen', 1, 3);
INSERT INTO tallies VALUES ('some', 'often', 0, 3);
INSERT INTO tallies VALUES ('some', 'often', 1, 3);
INSERT INTO tallies VALUES ('workplace', 'stolen', 1, 3);
INSERT INTO tallies VALUES ('workplace', 'stolen', 0, 3);
INSERT INTO tallies VALUES ('workplace', 'often', 1, 6);
INSERT INTO tallies VALUES ('workplace', 'often', 0, 6);
INSERT INTO answered VALUES ('some', 'often', 3);
INSERT INTO answered VALUES ('some', 'stolen', 3);
INSERT INTO tokens VALUES ('a4e89737aa74', '5d8b42c8e0b7803ffb0b39ae031bcae22c8c7af44e2a73ffafc05d0ab92a0ded', 'author', NULL, '2027-11-21', '', 0);
INSERT INTO register VALUES (1, 'published', 'workplace', '{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-21","delta":"0","digest":"469fd337a18c91515823cfa58d341f8ce9b056d2ff05f3c01f9575ec4c0c1d7e","epsilon":"2.20","event":"published","number":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"3255658cb05a0db3a70f150b977f5962386381a2f61adef2fcd8238efe44cf546e0e3a832386d7ee5c8ab9c97e00f92b4b604fd41a75cba3644691a153879c0c","survey":"workplace"}', 'c683a656196cbce804ad44f722a2a9b0dc34d90523c33378015c66f991213d2e');
INSERT INTO register VALUES (2, 'published', 'over', '{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-21","delta":"0","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","epsilon":"2.20","event":"published","number":2,"previous":"c683a656196cbce804ad44f722a2a9b0dc34d90523c33378015c66f991213d2e","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"4603363986ca27c60b18f2a67804f138fca64b18bd59634be344b656c1de99ddeb943181a300f4cb96a75c8255c2609910089d8c47949d379519aa8418017902","survey":"over"}', '01b60e7ce5f753f00f864a5fe401869c7b8e61ce1abf0d19f2c4bc2d4c82f81d');
INSERT INTO register VALUES (3, 'published', 'some', '{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-21","delta":"0","digest":"e81d88467d44fb0704815deb8dca53146e53b4675eb8f4c505d9cf7667096dc7","epsilon":"1.10","event":"published","number":3,"previous":"01b60e7ce5f753f00f864a5fe401869c7b8e61ce1abf0d19f2c4bc2d4c82f81d","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"c56efdd2b1ddd62b45c39b1b44223f4ca39589d279a55e57fca9fb06ca6302f584c0bf8da9b3ad5b31fd9f24c81c5c993554affd8ef982271713f44ed744ef0e","survey":"some"}', 'ad0a077150d68513b609d5a4577a83947853ba5e4fecebf25c455f2f40016593');
INSERT INTO register VALUES (4, 'closed', 'over', '{"day":"2026-11-21","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","event":"closed","number":4,"previous":"ad0a077150d68513b609d5a4577a83947853ba5e4fecebf25c455f2f40016593","survey":"over"}', 'cf4cb3cae31b7e8c767d87ba54b4fa1c35e9eb08c2ecb3d9652a9b2973571a30');
