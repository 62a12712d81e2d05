BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'deniably','surveys_reports_tallies','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(2,'deniably','answered','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(3,'deniably','register','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(4,'deniably','tokens','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(5,'deniably','invitations','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(6,'deniably','snapshots','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(7,'deniably','monitors','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(8,'deniably','issued','2026-11-22');
INSERT INTO "_sqlite_migrations" VALUES(9,'deniably','owners','2026-11-22');
CREATE TABLE answered (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            reports INTEGER NOT NULL CHECK (reports >= 0),
            PRIMARY KEY (survey, question)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "answered" VALUES('some','often',3);
INSERT INTO "answered" VALUES('some','stolen',3);
CREATE TABLE invitations (
            hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
            survey TEXT NOT NULL REFERENCES surveys (name),
            blinded BLOB NOT NULL CHECK (length(blinded) = 32)
        ) STRICT, WITHOUT ROWID;
CREATE TABLE issued (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            invitations INTEGER NOT NULL CHECK (invitations >= 0)
        ) STRICT, WITHOUT ROWID;
CREATE TABLE keys (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            secret TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
CREATE TABLE owners (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            token TEXT NOT NULL,
            day TEXT NOT NULL CHECK (length(day) = 10),
            bytes INTEGER NOT NULL CHECK (bytes >= 0)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "owners" VALUES('over','64267eb191e3','2026-11-22',615);
INSERT INTO "owners" VALUES('some','64267eb191e3','2026-11-22',615);
INSERT INTO "owners" VALUES('workplace','64267eb191e3','2026-11-22',620);
CREATE TABLE register (
            number INTEGER PRIMARY KEY,
            event TEXT NOT NULL,
            survey TEXT NOT NULL REFERENCES surveys (name),
            entry TEXT NOT NULL,
            hash TEXT NOT NULL CHECK (length(hash) = 64),
            UNIQUE (survey, event)
        ) STRICT;
INSERT INTO "register" VALUES(1,'published','workplace','{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-22","delta":"0","digest":"469fd337a18c91515823cfa58d341f8ce9b056d2ff05f3c01f9575ec4c0c1d7e","epsilon":"2.20","event":"published","number":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"3255658cb05a0db3a70f150b977f5962386381a2f61adef2fcd8238efe44cf546e0e3a832386d7ee5c8ab9c97e00f92b4b604fd41a75cba3644691a153879c0c","survey":"workplace"}','b336613f8599e99e55f4e64c18f2275c9ebc6c4b46a622463dea8b1092f8a37f');
INSERT INTO "register" VALUES(2,'published','over','{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-22","delta":"0","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","epsilon":"2.20","event":"published","number":2,"previous":"b336613f8599e99e55f4e64c18f2275c9ebc6c4b46a622463dea8b1092f8a37f","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"4603363986ca27c60b18f2a67804f138fca64b18bd59634be344b656c1de99ddeb943181a300f4cb96a75c8255c2609910089d8c47949d379519aa8418017902","survey":"over"}','9ec6265d56b32d141cad8f918fabaa9ae80e4f4bb33d2cdbf79d4d77482aa800');
INSERT INTO "register" VALUES(3,'published','some','{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-22","delta":"0","digest":"e81d88467d44fb0704815deb8dca53146e53b4675eb8f4c505d9cf7667096dc7","epsilon":"1.10","event":"published","number":3,"previous":"9ec6265d56b32d141cad8f918fabaa9ae80e4f4bb33d2cdbf79d4d77482aa800","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"c56efdd2b1ddd62b45c39b1b44223f4ca39589d279a55e57fca9fb06ca6302f584c0bf8da9b3ad5b31fd9f24c81c5c993554affd8ef982271713f44ed744ef0e","survey":"some"}','ca88e1b7fd6339c5d3d304f2e7bd38e7c049c38f00d3d3a56845f474ec95f4b5');
INSERT INTO "register" VALUES(4,'closed','over','{"day":"2026-11-22","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","event":"closed","number":4,"previous":"ca88e1b7fd6339c5d3d304f2e7bd38e7c049c38f00d3d3a56845f474ec95f4b5","survey":"over"}','f124419dd37a3b232bc9ca5b006a9ca7b86372816a2d18a2ac530ff7de27bce2');
CREATE TABLE reports (
            id BLOB PRIMARY KEY CHECK (length(id) = 16),
            survey TEXT NOT NULL REFERENCES surveys (name),
            report TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "reports" VALUES(X'060A7F2CF38580AAF952FED091493EE8','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'0BE799B6B7BE1B79814E763C105F1990','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'1431D74C7AA5D726A9EE120C84E7FE9E','some','[[1],null]');
INSERT INTO "reports" VALUES(X'182AC7EA5609A6C89FD6DFE55FF905FC','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'2A5E9966FE2F5473D3BB322D1A341C65','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'32F599AA2F09A54CBC2349CCA29CE579','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'37DDC91AE0D079A9C143FEF55BA726E2','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'47A5027DAC763F35E3626F2FF5460F8E','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'64E38D4EF65FE7389E10AAA86395422D','some','[[1],null]');
INSERT INTO "reports" VALUES(X'7B93D4DBC491CA721A03141C6C242F8B','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'7DFAD2A925D83E7C7E68E7A0641024CE','some','[[1],null]');
INSERT INTO "reports" VALUES(X'85F1A6F661F46B472F1BEE2A17B042A6','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'C69C30844CECF148C9465993E9175388','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'C8512BD1EB74A2A1D99766D9D84A98C8','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'CD009AAE5C0D72D666EDD99BE3ABB096','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'CDCC57B9B735D4CCF1C87C8EAE96CBCB','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'D1FBDC82E493E1669E4F3815A3E15BB7','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'E945B4B012B4AAD8CA36147E36894EF4','some','[null,[0,1]]');
CREATE TABLE settings (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            reports INTEGER NOT NULL CHECK (reports >= 0),
            tallies TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
CREATE TABLE surveys (
            name TEXT PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            definition TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'closed'))
        ) STRICT, WITHOUT ROWID;
INSERT INTO "surveys" VALUES('over','08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca','{"language":"en","name":"over","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}','closed');
INSERT INTO "surveys" VALUES('some','e81d88467d44fb0704815deb8dca53146e53b4675eb8f4c505d9cf7667096dc7','{"ask":1,"language":"en","name":"some","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}','open');
INSERT INTO "surveys" VALUES('workplace','469fd337a18c91515823cfa58d341f8ce9b056d2ff05f3c01f9575ec4c0c1d7e','{"language":"en","name":"workplace","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}','open');
CREATE TABLE tallies (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            choice INTEGER NOT NULL,
            count INTEGER NOT NULL CHECK (count >= 0),
            PRIMARY KEY (survey, question, choice)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "tallies" VALUES('over','often',0,6);
INSERT INTO "tallies" VALUES('over','often',1,6);
INSERT INTO "tallies" VALUES('over','stolen',0,3);
INSERT INTO "tallies" VALUES('over','stolen',1,3);
INSERT INTO "tallies" VALUES('some','often',0,3);
INSERT INTO "tallies" VALUES('some','often',1,3);
INSERT INTO "tallies" VALUES('some','stolen',1,3);
INSERT INTO "tallies" VALUES('workplace','often',0,6);
INSERT INTO "tallies" VALUES('workplace','often',1,6);
INSERT INTO "tallies" VALUES('workplace','stolen',0,3);
INSERT INTO "tallies" VALUES('workplace','stolen',1,3);
CREATE TABLE "tokens" (
            id TEXT PRIMARY KEY,
            hash TEXT NOT NULL CHECK (length(hash) = 64),
            role TEXT NOT NULL CHECK (role IN ('author', 'analyst', 'monitor', 'operator')),
            survey TEXT,
            until TEXT NOT NULL CHECK (length(until) = 10),
            note TEXT NOT NULL,
            revoked INTEGER NOT NULL CHECK (revoked IN (0, 1))
        ) STRICT, WITHOUT ROWID;
INSERT INTO "tokens" VALUES('64267eb191e3','42e1f2dd0b8b3b347fb2cf43cd781ca798d3a4e760ca1dac7ce84eca1a238dc6','author',NULL,'2027-11-22','',0);
CREATE TABLE totals (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            reports INTEGER NOT NULL CHECK (reports >= 0)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "totals" VALUES('over',6);
INSERT INTO "totals" VALUES('some',6);
INSERT INTO "totals" VALUES('workplace',6);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE TRIGGER a_definition_never_changes
        BEFORE UPDATE OF name, digest, definition ON surveys
        BEGIN SELECT RAISE(ABORT, 'a published definition never changes'); END;
CREATE TRIGGER a_definition_is_never_replaced
        BEFORE INSERT ON surveys
        WHEN EXISTS (SELECT 1 FROM surveys WHERE name = NEW.name OR digest = NEW.digest)
        BEGIN SELECT RAISE(ABORT, 'a published definition never changes'); END;
CREATE TRIGGER a_definition_is_never_deleted
        BEFORE DELETE ON surveys
        BEGIN SELECT RAISE(ABORT, 'a published definition never changes'); END;
CREATE TRIGGER a_closed_survey_stays_closed
        BEFORE UPDATE OF state ON surveys
        WHEN OLD.state = 'closed' AND NEW.state <> 'closed'
        BEGIN SELECT RAISE(ABORT, 'a closed survey is not opened again'); END;
CREATE TRIGGER a_report_never_changes
        BEFORE UPDATE ON reports
        BEGIN SELECT RAISE(ABORT, 'a stored report never changes'); END;
CREATE TRIGGER the_register_continues
        BEFORE INSERT ON register
        WHEN NEW.number <> (SELECT count(*) + 1 FROM register)
            OR json_extract(NEW.entry, '$.number') <> NEW.number
            OR json_extract(NEW.entry, '$.previous') <> coalesce(
                (SELECT hash FROM register ORDER BY number DESC LIMIT 1),
                hex(zeroblob(32))
            )
        BEGIN SELECT RAISE(ABORT, 'an entry continues the one before it'); END;
CREATE TRIGGER the_register_is_never_changed
        BEFORE UPDATE ON register
        BEGIN SELECT RAISE(ABORT, 'an entry of the register never changes'); END;
CREATE TRIGGER the_register_is_never_shortened
        BEFORE DELETE ON register
        BEGIN SELECT RAISE(ABORT, 'an entry of the register never changes'); END;
CREATE TRIGGER a_key_never_changes BEFORE UPDATE ON keys
        BEGIN SELECT RAISE(ABORT, 'the key of a survey never changes'); END;
CREATE TRIGGER a_key_is_never_deleted BEFORE DELETE ON keys
        BEGIN SELECT RAISE(ABORT, 'the key of a survey never changes'); END;
CREATE TRIGGER a_used_invitation_stays_used BEFORE UPDATE ON invitations
        WHEN OLD.blinded <> zeroblob(32)
        BEGIN SELECT RAISE(ABORT, 'a used invitation stays used'); END;
COMMIT;
