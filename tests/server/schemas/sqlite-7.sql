BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'deniably','surveys_reports_tallies','2026-11-21');
INSERT INTO "_sqlite_migrations" VALUES(2,'deniably','answered','2026-11-21');
INSERT INTO "_sqlite_migrations" VALUES(3,'deniably','register','2026-11-21');
INSERT INTO "_sqlite_migrations" VALUES(4,'deniably','tokens','2026-11-21');
INSERT INTO "_sqlite_migrations" VALUES(5,'deniably','invitations','2026-11-21');
INSERT INTO "_sqlite_migrations" VALUES(6,'deniably','snapshots','2026-11-21');
INSERT INTO "_sqlite_migrations" VALUES(7,'deniably','monitors','2026-11-21');
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
CREATE TABLE keys (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            secret TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
CREATE TABLE register (
            number INTEGER PRIMARY KEY,
            event TEXT NOT NULL,
            survey TEXT NOT NULL REFERENCES surveys (name),
            entry TEXT NOT NULL,
            hash TEXT NOT NULL CHECK (length(hash) = 64),
            UNIQUE (survey, event)
        ) STRICT;
INSERT INTO "register" VALUES(1,'published','workplace','{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-21","delta":"0","digest":"469fd337a18c91515823cfa58d341f8ce9b056d2ff05f3c01f9575ec4c0c1d7e","epsilon":"2.20","event":"published","number":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"3255658cb05a0db3a70f150b977f5962386381a2f61adef2fcd8238efe44cf546e0e3a832386d7ee5c8ab9c97e00f92b4b604fd41a75cba3644691a153879c0c","survey":"workplace"}','c683a656196cbce804ad44f722a2a9b0dc34d90523c33378015c66f991213d2e');
INSERT INTO "register" VALUES(2,'published','over','{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-21","delta":"0","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","epsilon":"2.20","event":"published","number":2,"previous":"c683a656196cbce804ad44f722a2a9b0dc34d90523c33378015c66f991213d2e","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"4603363986ca27c60b18f2a67804f138fca64b18bd59634be344b656c1de99ddeb943181a300f4cb96a75c8255c2609910089d8c47949d379519aa8418017902","survey":"over"}','01b60e7ce5f753f00f864a5fe401869c7b8e61ce1abf0d19f2c4bc2d4c82f81d');
INSERT INTO "register" VALUES(3,'published','some','{"author":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","day":"2026-11-21","delta":"0","digest":"e81d88467d44fb0704815deb8dca53146e53b4675eb8f4c505d9cf7667096dc7","epsilon":"1.10","event":"published","number":3,"previous":"01b60e7ce5f753f00f864a5fe401869c7b8e61ce1abf0d19f2c4bc2d4c82f81d","questions":[{"epsilon":"1.10","mechanism":"subset_selection","name":"stolen"},{"epsilon":"1.10","mechanism":"subset_selection","name":"often"}],"signature":"c56efdd2b1ddd62b45c39b1b44223f4ca39589d279a55e57fca9fb06ca6302f584c0bf8da9b3ad5b31fd9f24c81c5c993554affd8ef982271713f44ed744ef0e","survey":"some"}','ad0a077150d68513b609d5a4577a83947853ba5e4fecebf25c455f2f40016593');
INSERT INTO "register" VALUES(4,'closed','over','{"day":"2026-11-21","digest":"08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca","event":"closed","number":4,"previous":"ad0a077150d68513b609d5a4577a83947853ba5e4fecebf25c455f2f40016593","survey":"over"}','cf4cb3cae31b7e8c767d87ba54b4fa1c35e9eb08c2ecb3d9652a9b2973571a30');
CREATE TABLE reports (
            id BLOB PRIMARY KEY CHECK (length(id) = 16),
            survey TEXT NOT NULL REFERENCES surveys (name),
            report TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "reports" VALUES(X'05B2A9D68CD1CFD2916CC0FBFF23817F','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'09B5432F556BF26452EE819BE7DDCCC1','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'140A6C2A09585E86FF1B7D824C6907AE','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'21D094BE620B8505E6B65695290B7733','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'2F5DD3D35165890E8AC90B1530B7EA2B','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'3005EC59349C86B93526BC8AF6B29867','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'4AEEC1E0DC02057656CD2E34193BCAC4','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'51FB94EE1A6E245ED95932C0A33979F5','some','[[1],null]');
INSERT INTO "reports" VALUES(X'58E3EAC3A6D719DEB41EF626AFDCC816','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'7CEB2178CE97334CC597A2CAB44CE840','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'8532EDA4D66D9E8A20CF006352BFFBB7','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'964E6A33E695C871B1D0EC10890A40C1','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'982FE0B35C72D810BB66A49698BB1D43','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'A2AD8B23FD5E09585118498640309611','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'A8E37A87B92C42891528ACAE88C13956','some','[[1],null]');
INSERT INTO "reports" VALUES(X'C4E36AA9408EE972820B095FF9D9E4ED','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'CC702401AB062E7ED5558516849CBCE0','some','[[1],null]');
INSERT INTO "reports" VALUES(X'CFB708AB05B193EE83424B867443CB3C','over','[[1],[0,1]]');
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
INSERT INTO "tokens" VALUES('3f2f32710988','de6701d448f62aeb380fb1161b2f25076202a1a8e76726f4073790fcb360d408','author',NULL,'2027-11-21','',0);
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
