import { type Kysely, sql } from 'kysely';

/** What must never be: when it was last looked for, how far, and what was found. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table invariants (
      name text primary key,
      violations integer not null default 0,
      state jsonb not null default '{}',
      round integer not null default 0,
      started_at timestamptz not null default '-infinity',
      checked_at timestamptz
    )`.execute(db);
  await sql`
    insert into invariants (name)
    values ('ledger_imbalance'), ('unfinished_without_job'), ('entries_sent_twice')`.execute(db);
  await sql`
    create table invariant_faults (
      id uuid primary key default gen_random_uuid(),
      invariant text not null references invariants (name),
      subject text not null,
      detail jsonb not null,
      found_at timestamptz not null default now(),
      acknowledged_at timestamptz,
      acknowledged_by text,
      note text,
      unique (invariant, subject)
    )`.execute(db);
  // Ids of operations grow with time as the table does, so this one finds their movements and costs next to nothing.
  await sql`
    create index movements_of_operation on movements using brin (operation_id)
    with (pages_per_range = 32, autosummarize = on)`.execute(db);
  // UNKNOWN is the only settled state that never expires. Not on status: see records_unsettled.
  await sql`
    create index records_unresolved on records (id) where settled_at is not null and expires_at is null`.execute(db);
  await createLedgerExamination(db);
  await createLedgerSearch(db);
  await createLedgerCheck(db);
}

/** What is wrong with one account, operation or movement; null if it is right. Each is judged in one snapshot. */
async function createLedgerExamination(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function examine_account(p_id uuid) returns jsonb language sql stable as $$
      select jsonb_build_object('balance', a.balance, 'ofMovements', coalesce(m.balance_after, 0))
      from accounts a left join lateral (
        select balance_after from movements where account_id = a.id order by id desc limit 1) m on true
      where a.id = p_id and a.kind = 'customer' and a.balance is distinct from coalesce(m.balance_after, 0)
    $$`.execute(db);
  await sql`
    create function examine_operation(p_id uuid) returns jsonb language sql stable as $$
      select jsonb_object_agg(currency, sum) from (
        select a.currency, sum(m.amount) from movements m join accounts a on a.id = m.account_id
        where m.operation_id = p_id group by a.currency having sum(m.amount) <> 0) uneven
    $$`.execute(db);
  await sql`
    create function examine_movement(p_id bigint) returns jsonb language sql stable as $$
      select jsonb_build_object('accountId', m.account_id, 'before', coalesce(before.balance_after, 0),
        'amount', m.amount, 'after', m.balance_after)
      from movements m left join lateral (
        select balance_after from movements where account_id = m.account_id and id < m.id order by id desc limit 1
      ) before on true
      where m.id = p_id and m.balance_after <> coalesce(before.balance_after, 0) + m.amount
    $$`.execute(db);
  await sql`
    create function examine_ledger(p_subject text) returns jsonb language sql stable as $$
      select case split_part(p_subject, ':', 1)
        when 'account' then examine_account(split_part(p_subject, ':', 2)::uuid)
        when 'operation' then examine_operation(split_part(p_subject, ':', 2)::uuid)
        when 'movement' then examine_movement(split_part(p_subject, ':', 2)::bigint)
      end
    $$`.execute(db);
}

/** Who is suspect in a stretch of movements. At its ends the innocent may be among them, so each is examined. */
async function createLedgerSearch(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function suspects_of_movements(p_after bigint, p_to bigint) returns setof text
    language sql stable set enable_seqscan = off as $$
      with stretch as materialized (
        select m.id, m.account_id, m.operation_id, m.amount, m.balance_after,
          lag(m.balance_after) over (partition by m.account_id order by m.id) as before
        from movements m where m.id > p_after and m.id <= p_to
      )
      select distinct 'operation:' || operation_id
      from (
        select s.operation_id from stretch s join accounts a on a.id = s.account_id
        group by s.operation_id, a.currency having sum(s.amount) <> 0) uneven
      union all
      select 'movement:' || s.id from stretch s left join lateral (
        -- The first of an account in this stretch has its predecessor outside of it.
        select m.balance_after from movements m
        where s.before is null and m.account_id = s.account_id and m.id < s.id order by m.id desc limit 1
      ) outside on true
      where s.balance_after <> coalesce(s.before, outside.balance_after, 0) + s.amount
      union all
      select 'account:' || a.id from accounts a left join lateral (
        select m.balance_after from movements m where m.account_id = a.id order by m.id desc limit 1) newest on true
      where a.id in (select account_id from stretch) and a.kind = 'customer'
        and a.balance is distinct from coalesce(newest.balance_after, 0)
    $$`.execute(db);
}

/**
 * One round: what was written since the round before the last one, a stretch of what is old, and some accounts. So a
 * fault is found at once where something moves, and in the end wherever it is. What is found stays until it is mended.
 */
async function createLedgerCheck(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function check_ledger(p_state jsonb) returns jsonb language plpgsql set enable_seqscan = off as $$
    declare
      -- A transaction may commit after one that took later ids, so each movement is looked at in two rounds.
      v_before bigint := coalesce((p_state ->> 'before')::bigint, 0);
      v_seen bigint := coalesce((p_state ->> 'seen')::bigint, 0);
      v_walked bigint := coalesce((p_state ->> 'walked')::bigint, 0);
      v_account uuid := coalesce(p_state ->> 'account', '00000000-0000-0000-0000-000000000000')::uuid;
      v_newest bigint := coalesce((select max(id) from movements), 0);
      v_accounts uuid[];
    begin
      v_newest := least(v_newest, v_seen + 100000);
      select coalesce(array_agg(id), '{}') into v_accounts
      from (select id from accounts where id > v_account order by id limit 2000) next;

      insert into invariant_faults (invariant, subject, detail)
      select 'ledger_imbalance', subject, examine_ledger(subject) from (
        select suspects_of_movements(v_before, v_newest) as subject
        union
        select suspects_of_movements(v_walked, least(v_walked + 20000, v_before))
        union
        select 'account:' || id from unnest(v_accounts) id where examine_account(id) is not null
      ) suspects
      where examine_ledger(subject) is not null
      -- Beyond this the number says nothing more.
      limit greatest(0, 1000 - (select count(*) from invariant_faults where invariant = 'ledger_imbalance'))
      on conflict (invariant, subject) do nothing;

      delete from invariant_faults where invariant = 'ledger_imbalance' and examine_ledger(subject) is null;
      return jsonb_build_object('before', v_seen, 'seen', v_newest,
        'walked', case when v_walked + 20000 >= v_before then 0 else v_walked + 20000 end,
        'account', case when cardinality(v_accounts) = 2000 then v_accounts[2000] end);
    end $$`.execute(db);
}
