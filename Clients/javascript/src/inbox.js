import { pages } from './control.js'
import { duration } from './duration.js'
import { UnderstudyError } from './errors.js'

/// The maximum number of messages that an error lists.
const listed = 10

export class Inbox {
  #control
  constructor(control) { this.#control = control }

  async list({ wait, ...filter } = {}) {
    const found = await pages(this.#control, 'mail', 'messages', { ...filter, wait: duration(wait) })
    // Lists show only the beginning of long texts.
    if (found.length > 0 || wait === undefined) return Promise.all(found.map(one => one.cut ? this.message(one.id) : one))
    throw new UnderstudyError('noMail', await this.#nothing(wait, filter))
  }

  async #nothing(wait, filter) {
    const came = await pages(this.#control, 'mail', 'messages', {})
    const lines = came.slice(-listed).map(one => `\n  ${one.id} from ${one.from} to ${one.to}: ${one.subject ?? one.text ?? ''}`)
    const all = lines.length > 0 ? `; in the inbox:${lines.join('')}` : '; the inbox is empty'
    return `nothing came within ${duration(wait)} that fits ${JSON.stringify(filter)}${all}`
  }

  message(id) { return this.#control.call('GET', Inbox.#path(id)) }
  raw(id, { forwarded = false } = {}) {
    return this.#control.bytes('GET', `${Inbox.#path(id)}/raw`, { query: { as: forwarded ? 'forwarded' : undefined } })
  }
  attachment(id, number) { return this.#control.bytes('GET', `${Inbox.#path(id)}/attachments/${number}`) }
  send(mail) { return this.#control.call('POST', 'mail', { body: { ...mail, to: addresses(mail.to), cc: addresses(mail.cc) } }) }
  reply(id, answer) {
    return this.#control.call('POST', `${Inbox.#path(id)}/replies`, { body: typeof answer === 'string' ? { text: answer } : answer })
  }
  async delete(id) { await this.#control.call('DELETE', id === undefined ? 'mail' : Inbox.#path(id)) }

  static #path(id) { return `mail/${encodeURIComponent(id)}` }
}

const addresses = value => typeof value === 'string' ? [value] : value
