BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'deniably','surveys_reports_tallies','2026-11-21 20:35:07.060520+00:00');
CREATE TABLE reports (
            id BLOB PRIMARY KEY CHECK (length(id) = 16),
            survey TEXT NOT NULL REFERENCES surveys (name),
            report TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "reports" VALUES(X'0D734737403F5322BB03EE8713E2F8FD','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'13EECFCB42CDBC963A117DEC5F155F28','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'18B7D73F52E963E1A15C4904D4C69200','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'1E45E9999EBEB50F2A6F24ACD877E0A8','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'2361832870D8F5B427C7037672F9E15F','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'44853D76B109A5FA686FEFDA38363E06','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'585B7DD7A0DA9D6E05DC3138C4907871','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'755BAC152F48070FE9F111374E267264','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'83635923ECD3C9DD6A9665757FC51154','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'97ED5C9F7CBDE56C9689BB1E6880FB51','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'A2AEE51C47FC5C8A2357144417C17966','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'B956B2B936E3E5D89F31B94EA0CE012C','over','[[1],[0,1]]');
CREATE TABLE settings (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "settings" VALUES('author_token_sha256','36274c1bb7f00329b5598ae63c4b3e72f9a682f6b851cc49d06ceb17f30fc967');
CREATE TABLE surveys (
            name TEXT PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            definition TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'closed'))
        ) STRICT, WITHOUT ROWID;
INSERT INTO "surveys" VALUES('over','08872d17aba4e9ff04fe2b34640fd0268c8edffd004931aab0d7a068da76d6ca','{"language":"en","name":"over","questions":[{"choices":[{"label":"Yes","name":"yes"},{"label":"No","name":"no"}],"claim":{"odds":"3"},"label":"Have you ever stolen from work?","mechanism":{"k":2,"name":"subset_selection","omega":1,"other":1,"own":3},"name":"stolen","type":"yes_no"},{"choices":[{"label":"Never","name":"never"},{"label":"Once","name":"once"},{"label":"Twice","name":"twice"},{"label":"Weekly","name":"weekly"},{"label":"Daily","name":"daily"}],"claim":{"odds":"3"},"label":"How often?","mechanism":{"k":5,"name":"subset_selection","omega":2,"other":1,"own":3},"name":"often","type":"select_one"}],"results":{"minimum":100,"while_open":false},"spec":1,"title":"Honesty at work"}','closed');
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
INSERT INTO "tallies" VALUES('over','often',2,0);
INSERT INTO "tallies" VALUES('over','often',3,0);
INSERT INTO "tallies" VALUES('over','often',4,0);
INSERT INTO "tallies" VALUES('over','stolen',0,3);
INSERT INTO "tallies" VALUES('over','stolen',1,3);
INSERT INTO "tallies" VALUES('workplace','often',0,6);
INSERT INTO "tallies" VALUES('workplace','often',1,6);
INSERT INTO "tallies" VALUES('workplace','often',2,0);
INSERT INTO "tallies" VALUES('workplace','often',3,0);
INSERT INTO "tallies" VALUES('workplace','often',4,0);
INSERT INTO "tallies" VALUES('workplace','stolen',0,3);
INSERT INTO "tallies" VALUES('workplace','stolen',1,3);
CREATE TABLE totals (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            reports INTEGER NOT NULL CHECK (reports >= 0)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "totals" VALUES('over',6);
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
COMMIT;
