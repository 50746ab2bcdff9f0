import { errorOf, UnderstudyError } from './errors.js'

/// The control API at one address: the daemon's, or a world's.
export class Control {
  constructor(url, token) {
    this.url = url
    this.token = token
  }

  /// The answer's value: JSON, or `undefined` where there is none.
  async call(method, path, { query, body } = {}) {
    const text = await this.text(method, path, { query, body: body === undefined ? undefined : JSON.stringify(body) })
    return text === '' ? undefined : JSON.parse(text)
  }

  /// The same with texts.
  async text(method, path, { query, body } = {}) {
    return (await this.#send(method, path, { query, body })).text()
  }

  async bytes(method, path, { query } = {}) {
    return new Uint8Array(await (await this.#send(method, path, { query })).arrayBuffer())
  }

  async #send(method, path, { query, body }) {
    const url = new URL(path === '' ? this.url : `${this.url}/${path}`)
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const headers = {}
    if (this.token) headers.authorization = `Bearer ${this.token}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    let answer
    try { answer = await fetch(url, { method, headers, body }) } catch (error) {
      const reason = error.cause?.message || error.cause?.code || error.message
      throw new UnderstudyError(
        'unreachable', `no Understudy answers at ${url.origin}: ${reason}. Is it started, and UNDERSTUDY_URL right?`,
        { cause: error })
    }
    if (!answer.ok) throw errorOf(answer.status, await answer.text())
    return answer
  }
}

/// All pages of a list. `limit` is how many elements at most, over all pages.
export async function pages(control, path, member, query) {
  const found = []
  let { limit, ...next } = query
  for (;;) {
    const answer = await control.call('GET', path, { query: { ...next, limit } })
    found.push(...answer[member])
    if (limit !== undefined) limit -= answer[member].length
    if (!answer.more || limit <= 0) return found
    // What was waited for has come.
    const { wait, count, ...rest } = next
    next = { ...rest, after: answer.last }
  }
}
