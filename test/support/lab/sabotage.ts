import type pg from 'pg';

/** Rewrites a function in the lab's own database. Throws if there is nothing to replace: then it would prove nothing. */
export async function rewriteFunction(
  db: pg.Pool,
  name: string,
  replacements: readonly (readonly [from: string | RegExp, to: string])[],
): Promise<void> {
  const { rows } = await db.query<{ text: string }>(
    'select pg_get_functiondef(oid) as text from pg_proc where proname = $1',
    [name],
  );
  let text = rows[0]?.text ?? '';
  for (const [from, to] of replacements) {
    const changed = text.replaceAll(typeof from === 'string' ? from : new RegExp(from, `${from.flags}g`), to);
    if (changed === text) throw new Error(`${name} has no ${from} to replace`);
    text = changed;
  }
  await db.query(text);
}

/** A table that silently drops new rows which fit the condition. */
export async function forgetRows(db: pg.Pool, table: string, condition: string): Promise<void> {
  await db.query(`
    create function lab_forget() returns trigger language plpgsql as $$
    begin
      if ${condition} then return null; end if;
      return new;
    end $$`);
  await db.query(`create trigger lab_forget before insert on ${table} for each row execute function lab_forget()`);
}
