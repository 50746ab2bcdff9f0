// This is a stand-in for Playwright's runner with the functions that docs.test.js needs: fixtures of a test and of a
// worker, options, and the names in a function's first parameter. https://playwright.dev/docs/test-fixtures
import assert from 'node:assert/strict'
import nodeTest, { after } from 'node:test'

const namesIn = run => /^async \(\{([^}]*)\}/.exec(String(run))[1].split(',').map(name => name.trim()).filter(Boolean)

/// The functions that end the fixtures of workers after all tests.
const last = []
after(async () => { for (const end of last.reverse()) await end() })

function extended(fixtures) {
  const ofWorker = new Map()

  /// The fixture's value. What it does after its test is added to `ends`.
  async function value(name, known, information, ends) {
    if (known.has(name)) return known.get(name)
    const [fixture, { scope, option } = {}] = [fixtures[name]].flat()
    const place = scope === 'worker' ? ofWorker : known
    if (place.has(name)) return place.get(name)
    if (option) return place.set(name, fixture).get(name)
    const others = {}
    for (const other of namesIn(fixture)) others[other] = await value(other, known, information, ends)
    await new Promise((begun, failed) => {
      const use = given => {
        place.set(name, given)
        begun()
        return new Promise(resolve => ends.push({ scope, end: () => (resolve(), done) }))
      }
      const done = fixture(others, use, information)
      done.catch(failed)
    })
    return place.get(name)
  }

  function test(title, run) {
    nodeTest(title, async () => {
      const information = { title, status: 'passed', expectedStatus: 'passed', attach: async () => {} }
      const [known, ends, given] = [new Map(), [], {}]
      for (const name of namesIn(run)) given[name] = await value(name, known, information, ends)
      try { await run(given) } finally {
        for (const { scope, end } of ends.reverse()) if (scope === 'worker') last.push(end); else await end()
      }
    })
  }
  return Object.assign(test, { extend: more => extended({ ...fixtures, ...more }) })
}

export const test = extended({})
export const expect = found => ({ toBe: wanted => assert.equal(found, wanted) })
export const defineConfig = config => config
