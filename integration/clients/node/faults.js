// The faults that the test bed makes on request.

/** Asks for a fault once all members of a group wait for it, or have ended. */
export class Barrier {
  #arrived = new Set();
  #kind;

  constructor(control, size) {
    Object.assign(this, { control, size });
    this.opened = new Promise((resolve) => (this.open = resolve));
  }

  /** Resolves when the fault has happened. A member that ended wants none. */
  arrive(member, wanted) {
    const before = this.#arrived.size;
    this.#arrived.add(member);
    this.#kind ??= wanted;
    if (before < this.size && this.#arrived.size === this.size) this.open(this.#kind && request(this.control, this.#kind));
    return this.opened;
  }
}

/** Asks for one fault of ../README.md and waits until it has happened. */
export async function request(control, fault) {
  const response = await fetch(`${control}/${fault}`, { method: 'POST' });
  if (!response.ok) throw new Error(`/${fault}: ${response.status} ${await response.text()}`);
}
