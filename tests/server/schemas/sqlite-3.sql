BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'deniably','surveys_reports_tallies','2026-11-21 20:36:25.673807+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'deniably','answered','2026-11-21 20:36:25.674445+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'deniably','register','2026-11-21 20:36:25.688579+00:00');
CREATE TABLE answered (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            reports INTEGER NOT NULL CHECK (reports >= 0),
            PRIMARY KEY (survey, question)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "answered" VALUES('some','often',3);
INSERT INTO "answered" VALUES('some','stolen',3);
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
INSERT INTO "reports" VALUES(X'05637B02FDA099255E6F2B5982EBEB1C','some','[[1],null]');
INSERT INTO "reports" VALUES(X'06D8D81E27F07F0B1371E674D09C1FA0','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'1EC6669D9897888B93320169C587189A','some','[[1],null]');
INSERT INTO "reports" VALUES(X'225ACEE68FF29FA98C0E087E01B341EB','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'2D252CD8E336E94D5016C856CFB946B7','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'32BA156839E6ECC8ADA70AE495737221','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'4BA3963BF51FD8CA6E65507543182E7A','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'503B0D68D5E74E1C534B2594EAF9FFDF','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'50F8DFB99D5A320652F345013B44174C','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'86EEE51D3F696A3F098BFAFEF479C756','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'8DFF096D122CEECE8819E6250BB6BA56','some','[[1],null]');
INSERT INTO "reports" VALUES(X'95487B119C389B4CA614774680919871','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'98E1BE1E615B3F953D48C63F234C32B2','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'B80D8E80ADBA7751568B61FA75C0C65B','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'B890BD19039EB343E1CB7C14E340BFB7','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'DD559D5CC99F0369D37C082A7B1E796C','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'E954C99041B99B72289317B494D5780E','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'FDFE356156DC78FBC2A0144FCC18B9E0','workplace','[[1],[0,1]]');
CREATE TABLE settings (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "settings" VALUES('author_token_sha256','d319affab6412d2b68b3ee6a3d8c7d6f77baab266e4a14f1afbda20ea44f2bdf');
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
COMMIT;
