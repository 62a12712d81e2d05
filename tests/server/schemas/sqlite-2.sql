BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'deniably','surveys_reports_tallies','2026-11-21 20:35:11.144921+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'deniably','answered','2026-11-21 20:35:11.145523+00:00');
CREATE TABLE answered (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            reports INTEGER NOT NULL CHECK (reports >= 0),
            PRIMARY KEY (survey, question)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "answered" VALUES('some','often',3);
INSERT INTO "answered" VALUES('some','stolen',3);
CREATE TABLE reports (
            id BLOB PRIMARY KEY CHECK (length(id) = 16),
            survey TEXT NOT NULL REFERENCES surveys (name),
            report TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "reports" VALUES(X'0C7876243402DC9866A8CDBBFB9D1BF6','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'12BAA0F893214CE34F59250EB23742AA','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'2634BD6160629620B264339E940E35FA','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'2820ECCE7BDEB8C13B240345473FDA8B','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'3C0CE5B0891264CA1896DA5BD47123BD','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'4EBD6DA6CB04527E1FF7882BB4938A0A','some','[[1],null]');
INSERT INTO "reports" VALUES(X'511C15E2D9D3445A7D4C6DAEA0726B10','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'6F4A560E93386C86110EC4CE2B68A457','some','[null,[0,1]]');
INSERT INTO "reports" VALUES(X'781C897D97C51ECE03321C0F66BE1399','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'B2731FBA18955441E4023ABB2A5EDCD9','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'BFD5ECE2E6F0633B01FC64708059CF17','workplace','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'C9E02914169A91EC4D851ADCCDD26DDD','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'CBEC94B79DC6AD806508267D98928A3B','over','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'DC0C458B08FE36EFF470304C20A19114','some','[[1],null]');
INSERT INTO "reports" VALUES(X'E434641746F330846B65E5754445B137','some','[[1],null]');
INSERT INTO "reports" VALUES(X'EF4AE562529D7D07232ACBF94D36AEBD','over','[[1],[0,1]]');
INSERT INTO "reports" VALUES(X'F34091766BDF92E7211D3DDD0F6DFAB0','workplace','[[0],[0,1]]');
INSERT INTO "reports" VALUES(X'F71E5184636FA3B99EF3437B8207C13A','workplace','[[1],[0,1]]');
CREATE TABLE settings (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "settings" VALUES('author_token_sha256','49680baed67616ba968abc918e76fa4ffb70f57d9c277288dc691df19de20926');
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
COMMIT;
