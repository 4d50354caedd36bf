import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  columnsUsedBy,
  compileTemplate,
  escapeHtml,
  TemplateError,
  type TemplateValues,
} from '../../../src/processors/mailings/template.ts';

const columns = ['Email', 'Name', 'city', '', 'constructor'];
const values: TemplateValues = {
  email: 'ada@example.com',
  token: 'T',
  verifyUrl: 'http://v.example/?a=1&b=2',
  unsubscribeUrl: 'http://u.example',
  cells: ['ada@example.com', 'Ada', 'London', 'nameless', 'built'],
};
const fill = (source: string, toText?: (value: string) => string) =>
  compileTemplate(source, columns, { name: 'text', ...(toText && { toText }) })(values);

describe('a template', () => {
  it('has its fields filled in, in any case and with room around the name', () => {
    expect(fill('Dear {{ NAME }} in {{City}}{{city}}: {{verifyurl}} {{email}}')).toBe(
      'Dear Ada in LondonLondon: http://v.example/?a=1&b=2 ada@example.com',
    );
  });

  it('takes a name that every object has for a column and nothing else', () => {
    expect(fill('{{constructor}}')).toBe('built');
    for (const field of ['__proto__', 'toString', 'cells', '']) {
      expect(() => fill(`{{${field}}}`), field).toThrow(TemplateError);
    }
  });

  it('that names an unknown field, or does not close one, is refused with a sentence', () => {
    expect(() => fill('Hi {{nmae}}')).toThrow('text: there is no field {{nmae}}. There are Email, Name, city');
    expect(() => fill('Hi {{name')).toThrow('text: a {{ is not closed with }}.');
    expect(() => fill(`Hi {{${'x'.repeat(100_000)}}}`)).toThrow(TemplateError);
  });

  it('never reads a value as a template', () => {
    const template = compileTemplate('{{name}}', ['name'], { name: 'text' });
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom('{{token}}', '{{', '}}', '$&', '$1')), (cell) => {
        expect(template({ ...values, cells: [cell] })).toBe(cell);
      }),
    );
  });

  it('in HTML lets no value end its text or its attribute', () => {
    const template = compileTemplate('<a title="{{name}}">{{name}}</a>', ['name'], {
      name: 'html',
      toText: escapeHtml,
    });
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', '=', ' ', 'a', '/') }), (cell) => {
        const html = template({ ...values, cells: [cell] });
        const [, attribute = '', text = ''] = /^<a title="([^"<>']*)">([^"<>']*)<\/a>$/.exec(html) ?? [];
        const read = (shown: string) =>
          shown.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity);
        expect([read(attribute), read(text)]).toEqual([cell, cell]);
      }),
    );
  });

  it('says which columns it uses', () => {
    expect(columnsUsedBy('{{name}} {{NAME}} {{token}} {{email}} {{city}}', columns)).toEqual([1, 2]);
  });
});

const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
