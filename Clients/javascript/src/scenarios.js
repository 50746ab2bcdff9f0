/// The scenarios of a world, which are ready-made situations.
export class Scenarios {
  #control
  constructor(control) { this.#control = control }

  async list() { return (await this.#control.call('GET', 'scenarios')).scenarios }
  get(name) { return this.#control.call('GET', Scenarios.#path(name)) }
  play(name, parameters = {}) { return this.#control.call('POST', Scenarios.#path(name), { body: parameters }) }
  async end(name) { return (await this.#control.call('DELETE', Scenarios.#path(name))).withdrawn }

  static #path(name) { return `scenarios/${encodeURIComponent(name)}` }
}
