-- +goose Up
-- Only retention can delete entries: it sets a variable for its transaction. Every
-- other DELETE still has no effect.
DROP RULE audit_entries_no_delete ON audit_entries;
-- +goose StatementBegin
CREATE FUNCTION keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('showfloor.audit_retention', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_entries_no_delete BEFORE DELETE ON audit_entries FOR EACH ROW EXECUTE FUNCTION keep_audit_entry();
