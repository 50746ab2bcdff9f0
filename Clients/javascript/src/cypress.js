import { UnderstudyError } from './errors.js'
import { Understudy } from './understudy.js'

/// Returns the tasks for `on('task', understudyTasks())` in the `setupNodeEvents` of cypress.config.js.
export function understudyTasks({ world: name, ...options } = {}) {
  let found
  const world = async () => (await (found ??= Understudy.startOrConnect(options))).world(name)
  return {
    /// Calls a method of the world with arguments: `['order', 'apple', 'cancel']`.
    async understudy([method, ...values]) { return (await call(await world(), method, values)) ?? null },
    /// Returns the world's URL for a host, or the world's own URL.
    async understudyURL(host) { return host ? (await world()).hostURL(host) : (await world()).url }
  }
}

const parts = ['accounts', 'apple', 'clock', 'facebook', 'github', 'google', 'microsoft', 'openID', 'scenarios', 'tokens']

function call(world, method, values) {
  const [name, part, ...rest] = method.split('.').reverse()
  const target = part === undefined ? world : parts.includes(part) && rest.length === 0 ? world[part] : undefined
  if (typeof target?.[name] !== 'function' || Object.hasOwn(Object.prototype, name)) throw new UnderstudyError('noSuchMethod', `a world has no method ${JSON.stringify(method)}`)
  return target[name](...values)
}
