import { duration, times } from './duration.js'

/// The members of a fault that are its conditions on requests. All other members are its effect.
const conditions = ['host', 'path', 'method', 'client', 'tokensOf', 'fields', 'smtp', 'from', 'to']

/// An order, an outcome or a fault, with the members that the daemon sent.
class Order {
  #control
  #path

  constructor(control, path, document) {
    Object.assign(this, document)
    this.#control = control
    this.#path = path
  }

  async remove() {
    try { await this.#control.call('DELETE', `${this.#path}/${this.id}`) } catch (error) {
      if (error.status !== 404) throw error
      return false
    }
    return true
  }
}

/// The orders of a world.
export class Orders {
  #control
  constructor(control) { this.#control = control }

  order(provider, outcome, { times: count, ...details } = {}) {
    return this.#post('outcomes', { provider, outcome, ...details, times: times(count) })
  }

  fault({ after, times: count, probability, ...rest } = {}) {
    const match = {}
    const effect = {}
    for (const [name, value] of Object.entries(rest)) (conditions.includes(name) ? match : effect)[name] = value
    if (effect.delay !== undefined) effect.delay = duration(effect.delay)
    return this.#post('faults', { match, effect, after, probability, times: times(count) })
  }

  async list(path) { return (await this.#control.call('GET', path))[path].map(one => new Order(this.#control, path, one)) }

  async removeAll(path) { await this.#control.call('DELETE', path) }

  async #post(path, body) { return new Order(this.#control, path, await this.#control.call('POST', path, { body })) }
}
