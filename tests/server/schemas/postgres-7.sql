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
    

    CREATE TABLE owners (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        token TEXT NOT NULL,
        day TEXT NOT NULL CHECK (length(day) = 10),
        bytes BIGINT NOT NULL CHECK (bytes >= 0)
    );
    
INSERT INTO steps VALUES (1);
INSERT INTO steps VALUES (2);
INSERT INTO steps VALUES (3);
INSERT INTO steps VALUES (4);
INSERT INTO steps VALUES (5);
INSERT INTO steps VALUES (6);
INSERT INTO steps VALUES (7);
INSERT INTO surveys VALUES ('over', '08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca', '{"language":"en","name":"over","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}', 'closed');
INSERT INTO surveys VALUES ('some', 'e81d88467d44fb0704815deb8dca53146e53b4675eb8f4c505d9cf7667096dc7', '{"ask":1,"language":"en","name":"some","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}', 'open');
INSERT INTO surveys VALUES ('workplace', '469fd337a18c91515823cfa58d341f8ce9b056d2ff05f3c01f9575ec4c0c1d7e', '{"language":"en","name":"workplace","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}', 'open');
INSERT INTO reports VALUES ('\x096e3ee044467fdf21f2b23ff38a6277'::bytea, 'over', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x27ef6802ae45ea337e7f6bb5642b4178'::bytea, 'workplace', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x2b332a1847973ef775eb508605589be3'::bytea, 'over', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x4b6e3a165ee51526b1359c679e8780bd'::bytea, 'workplace', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x4efcb6bb7c5aaa6dcc255c3e0b88cdd4'::bytea, 'some', '[null,[0,1]]');
INSERT INTO reports VALUES ('\x4f7eb99c6f40435cc433e1afc4167761'::bytea, 'some', '[[1],null]');
INSERT INTO reports VALUES ('\x59dbb8e19c5b9c195ec6cdde35ebb1fb'::bytea, 'some', '[null,[0,1]]');
INSERT INTO reports VALUES ('\x641674c05f06d984a5ad53131fda60bd'::bytea, 'some', '[null,[0,1]]');
INSERT INTO reports VALUES ('\x7120621408d6d53b090c42ec8d24ac84'::bytea, 'over', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x7a910b9442d096df2dea216bcd2f491f'::bytea, 'workplace', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x7acfc81291f0a75cd7fa17706a7d6b3e'::bytea, 'workplace', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\x822f76bac80a910e004f970e4aa8a022'::bytea, 'workplace', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\x8271ed0270801e183ad5256b9e21fd47'::bytea, 'workplace', '[[0],[0,1]]');
INSERT INTO reports VALUES ('\xb54d0eb7937788445ac7e30153f65ed7'::bytea, 'over', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\xd397908215fcf23e710b873ffeea73d6'::bytea, 'some', '[[1],null]');
INSERT INTO reports VALUES ('\xf03feeee2804de1f471ea8a6fd3628a3'::bytea, 'over', '[[1],[0,1]]');
INSERT INTO reports VALUES ('\xf0cb26739c3b78e4b43d371b5f98dc97'::bytea, 'some', '[[1],null]');
INSERT INTO reports VALUES ('\xf3e314371e7d40c983a343e6b6be1f25'::bytea, 'over', '[[0],[0,1]]');
INSERT INTO totals VALUES ('over', 6);
INSERT INTO totals VALUES ('some', 6);
INSERT INTO totals VALUES ('workplace', 6);
INSERT INTO tallies VALUES ('over', 'stolen', 1, 3);
INSERT INTO tallies VALUES ('over', 'often', 0, 6);
INSERT INTO tallies VALUES ('over', 'stolen', 0, 3);
INSERT INTO tallies VALUES ('over', 'often', 1, 6);
INSERT INTO tallies VALUES ('some', 'often', 1, 3);
INSERT INTO tallies VALUES ('some', 'often', 0, 3);
INSERT INTO tallies VALUES ('some', 'stolen', 1, 3);
INSERT INTO tallies VALUES ('workplace', 'stolen', 0, 3);
INSERT INTO tallies VALUES ('workplace', 'often', 1, 6);
INSERT INTO tallies VALUES ('workplace', 'often', 0, 6);
INSERT INTO tallies VALUES ('workplace', 'stolen', 1, 3);
INSERT INTO answered VALUES ('some', 'often', 3);
INSERT INTO answered VALUES ('some', 'stolen', 3);
INSERT INTO tokens VALUES ('111425940d11', '7c7fd80f11280c604a686cf15586abb4253d77d4a27e765540405434b589b94e', 'author', NULL, '2027-11-22', '', 0);
INSERT INTO owners VALUES ('over', '111425940d11', '2026-11-22', 615);
INSERT INTO owners VALUES ('some', '111425940d11', '2026-11-22', 615);
INSERT INTO owners VALUES ('workplace', '111425940d11', '2026-11-22', 620);
INSERT INTO register VALUES (1, 'published', 'workplace', '{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-22","delta":"0","digest":"469fd337a18c91515823cfa58d341f8ce9b056d2ff05f3c01f9575ec4c0c1d7e","epsilon":"2.20","event":"published","number":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"3255658cb05a0db3a70f150b977f5962386381a2f61adef2fcd8238efe44cf546e0e3a832386d7ee5c8ab9c97e00f92b4b604fd41a75cba3644691a153879c0c","survey":"workplace"}', 'b336613f8599e99e55f4e64c18f2275c9ebc6c4b46a622463dea8b1092f8a37f');
INSERT INTO register VALUES (2, 'published', 'over', '{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-22","delta":"0","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","epsilon":"2.20","event":"published","number":2,"previous":"b336613f8599e99e55f4e64c18f2275c9ebc6c4b46a622463dea8b1092f8a37f","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"4603363986ca27c60b18f2a67804f138fca64b18bd59634be344b656c1de99ddeb943181a300f4cb96a75c8255c2609910089d8c47949d379519aa8418017902","survey":"over"}', '9ec6265d56b32d141cad8f918fabaa9ae80e4f4bb33d2cdbf79d4d77482aa800');
INSERT INTO register VALUES (3, 'published', 'some', '{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-22","delta":"0","digest":"e81d88467d44fb0704815deb8dca53146e53b4675eb8f4c505d9cf7667096dc7","epsilon":"1.10","event":"published","number":3,"previous":"9ec6265d56b32d141cad8f918fabaa9ae80e4f4bb33d2cdbf79d4d77482aa800","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"c56efdd2b1ddd62b45c39b1b44223f4ca39589d279a55e57fca9fb06ca6302f584c0bf8da9b3ad5b31fd9f24c81c5c993554affd8ef982271713f44ed744ef0e","survey":"some"}', 'ca88e1b7fd6339c5d3d304f2e7bd38e7c049c38f00d3d3a56845f474ec95f4b5');
INSERT INTO register VALUES (4, 'closed', 'over', '{"day":"2026-11-22","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","event":"closed","number":4,"previous":"ca88e1b7fd6339c5d3d304f2e7bd38e7c049c38f00d3d3a56845f474ec95f4b5","survey":"over"}', 'f124419dd37a3b232bc9ca5b006a9ca7b86372816a2d18a2ac530ff7de27bce2');
