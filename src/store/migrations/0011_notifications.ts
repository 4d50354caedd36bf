import { type Kysely, sql } from 'kysely';

/**
 * Every event that is written goes to the groups of consumers that want it, through the outbox and in the same
 * transaction. Such an outbox row stays until its consumer is done, so that a Redis that loses its jobs loses no event.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table outbox add column stays boolean not null default false`.execute(db);
  await sql`create table consumer_groups (name text primary key, events text[] not null)`.execute(db);
  await sql`insert into consumer_groups values ('alerts', '{operation.failed}')`.execute(db);

  // Webhooks are a group too. Whether anyone subscribed is asked here, so that nobody pays for what nobody wants.
  await sql`
    create function publish_events() returns trigger language plpgsql as $$
    begin
      insert into outbox (id, queue, name, job_id, data, next_attempt_at, stays)
      select n.outbox_id, 'notifications', n.consumer, n.event_id || '~' || n.consumer,
        jsonb_build_object('eventId', n.event_id, 'outboxId', n.outbox_id), now(), true
      from (
        select gen_random_uuid() as outbox_id, e.id as event_id, g.name as consumer
        from new_events e join consumer_groups g on e.type = any (g.events)
        union all
        select gen_random_uuid(), e.id, 'webhooks'
        from new_events e
        where exists (
          select 1 from webhooks w where w.client = e.client and w.disabled_at is null and e.type = any (w.events))
      ) n;
      return null;
    end $$`.execute(db);
  await sql`
    create trigger events_are_published after insert on events
    referencing new table as new_events for each statement execute function publish_events()`.execute(db);
}
