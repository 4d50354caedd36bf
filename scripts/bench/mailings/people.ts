/** One row of a file. */
export interface Person {
  readonly email: string;
  readonly name: string;
  readonly city: string;
}

const names = ['Ada Lovelace', 'Grace Hopper', 'Emmy Noether', 'Sofja Kowalewskaja', 'Maryam Mirzakhani', 'José Cañas'];
const cities = ['London', 'New York', 'Erlangen', 'Stockholm', 'Teheran', 'Córdoba', 'Zürich'];

// One row in a hundred repeats an address from half of its distance to the beginning: near at first, then far.
const duplicateEvery = 100;

/** The same ones for the same prefix, so that two processes can make them without handing them over. */
export function* makePeople(prefix: string, count: number, { hasDuplicates = false } = {}): Generator<Person> {
  for (let index = 0; index < count; index += 1) {
    const isDuplicate = hasDuplicates && index % duplicateEvery === duplicateEvery - 1;
    yield makePerson(prefix, isDuplicate ? (index >> 1) - 1 : index, index);
  }
}

/** Those of a file with duplicates that become entries: the first of each address. */
export function* makeFirstPeople(prefix: string, count: number): Generator<Person & { readonly line: number }> {
  let line = 1;
  for (const person of makePeople(prefix, count, { hasDuplicates: true })) {
    line += 1;
    if ((line - 1) % duplicateEvery !== 0) yield { ...person, line };
  }
}

export function countDuplicates(count: number): number {
  return Math.floor(count / duplicateEvery);
}

export function toCsv(people: Iterable<Person>): Blob {
  const pieces: string[] = [];
  let piece = 'email,name,city\n';
  for (const { email, name, city } of people) {
    piece += `${email},${name},${city}\n`;
    // One string of thirty megabytes would be copied at every step.
    if (piece.length < 1_000_000) continue;
    pieces.push(piece);
    piece = '';
  }
  return new Blob([...pieces, piece]);
}

function makePerson(prefix: string, address: number, index: number): Person {
  return {
    // Spread over a thousand domains, and not in alphabetical order, as in a list that grew over years.
    email: `${scatter(address).toString(36)}.${prefix}${address}@mail${address % 1_000}.example`,
    name: names[index % names.length] ?? '',
    city: cities[index % cities.length] ?? '',
  };
}

/** Knuth's multiplicative hash: neighbours end up far from each other. */
function scatter(value: number): number {
  return Math.imul(value, 2_654_435_761) >>> 0;
}
