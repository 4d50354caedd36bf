/** What Semel is told to send, and what the baseline sends. Both have each field filled in for each mail. */
export const mailTexts = {
  subject: 'News for {{name}}',
  text: [
    'Hello {{name}},',
    '',
    'there is something new for you in {{city}}. Please confirm that this address is yours:',
    '',
    '{{verifyUrl}}',
    '',
    'If you want no more mail from us: {{unsubscribeUrl}}',
    '',
  ].join('\n'),
};

export function fillIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '');
}
