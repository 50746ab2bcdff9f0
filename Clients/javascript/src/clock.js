import { duration, goTo } from './duration.js'

export class Clock {
  #control
  constructor(control) { this.#control = control }

  async now() { return this.#time(await this.#control.call('GET', 'clock')) }
  async isFrozen() { return (await this.#control.call('GET', 'clock')).frozen }
  advance(span) { return this.#order({ advance: duration(span) }) }
  set(time) { return this.#order(goTo(time)) }
  freeze(time) { return this.#order({ ...goTo(time), freeze: true }) }
  unfreeze() { return this.#order({ freeze: false }) }
  reset() { return this.#order({ reset: true }) }

  async #order(body) { return this.#time(await this.#control.call('POST', 'clock', { body })) }
  #time(answer) { return new Date(answer.milliseconds) }
}
