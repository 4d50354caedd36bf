/** Which groups of consumers want which events. The group `webhooks` follows its subscriptions instead. */
export interface ConsumerGroupsTable {
  name: string;
  events: string[];
}
