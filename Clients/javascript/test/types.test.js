// The type declarations are written by hand: they are compiled with a program that uses them, and compared with what there is.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

import * as main from '@understudy/client'
import * as cypress from '@understudy/client/cypress'
import * as nodeTest from '@understudy/client/node-test'
import * as playwright from '@understudy/client/playwright'

// Debian's node-typescript, or one that is installed here.
const find = createRequire(import.meta.url)
let ts
for (const place of ['typescript', '/usr/share/nodejs/typescript']) {
  try { ts ??= find(place) } catch (error) { if (error.code !== 'MODULE_NOT_FOUND') throw error }
}
const skip = ts === undefined ? 'there is no TypeScript: apt-get install node-typescript' : false

const folder = fileURLToPath(new URL('types', import.meta.url))
const { config } = ts?.readConfigFile(`${folder}/tsconfig.json`, ts.sys.readFile) ?? {}
const program = ts?.createProgram([`${folder}/usage.ts`], ts.parseJsonConfigFileContent(config, ts.sys, folder).options)

test('the declarations compile, and say what may be written', { skip }, () => {
  const found = ts.getPreEmitDiagnostics(program).map(one =>
    `${one.file?.fileName}:${one.start}: ${ts.flattenDiagnosticMessageText(one.messageText, '\n')}`)
  assert.deepEqual(found, [])
})

/// Returns the symbols that a module of the package declares, and the type checker.
function declared(name) {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(fileURLToPath(new URL(`../src/${name}.d.ts`, import.meta.url)))
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(source))
  return { checker, symbols: symbols.map(one => one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one) }
}

const isValue = symbol => (symbol.flags & ts.SymbolFlags.Value) !== 0

test('what is declared is exported, and nothing else', { skip }, () => {
  const modules = { index: main, 'node-test': nodeTest, playwright, cypress }
  for (const [name, module] of Object.entries(modules)) {
    const names = declared(name).symbols.filter(isValue).map(one => one.name)
    assert.deepEqual(names.sort(), Object.keys(module).sort(), name)
  }
})

/// Returns the names of an object's public members, with the inherited ones.
function members(object) {
  const names = new Set()
  for (let one = object; one !== Object.prototype && one !== Error.prototype && one !== null; one = Object.getPrototypeOf(one)) {
    for (const name of Object.getOwnPropertyNames(one)) if (name !== 'constructor') names.add(name)
  }
  return [...names].sort()
}

test('classes and their parts have the members that are declared', { skip }, () => {
  const { checker, symbols } = declared('index')
  const understudy = new main.Understudy('http://localhost:9', 'x', {})
  understudy.version = ''
  const world = understudy.world('w')
  const objects = { Understudy: understudy, World: world }
  for (const part of ['accounts', 'apple', 'clock', 'facebook', 'github', 'google', 'openID', 'scenarios', 'tokens']) {
    objects[{ openID: 'OpenID', github: 'GitHub' }[part] ?? part[0].toUpperCase() + part.slice(1)] = world[part]
  }
  // These methods of providers are only for this package.
  const ours = new Set(['get', 'post', 'delete'])
  for (const [name, object] of Object.entries(objects)) {
    const symbol = symbols.find(one => one.name === name)
    const names = checker.getDeclaredTypeOfSymbol(symbol).getProperties().map(one => one.name).sort()
    const has = members(object).filter(one => ['Accounts', 'Scenarios', 'World'].includes(name) || !ours.has(one))
    assert.deepEqual(has, names, name)
  }
  const errors = ['UnderstudyError', 'AppleAuthorizationError', 'VerificationError']
  for (const name of errors) assert.ok(symbols.some(one => one.name === name && isValue(one)))
})

test('every public type and method is documented', { skip }, () => {
  const { checker, symbols } = declared('index')
  const isMethod = symbol => checker.getTypeOfSymbolAtLocation(symbol, symbol.valueDeclaration).getCallSignatures().length > 0
  const methods = symbols.flatMap(one => checker.getDeclaredTypeOfSymbol(one).getProperties())
    .filter(one => /[\\/]src[\\/]/.test(one.valueDeclaration?.getSourceFile().fileName) && isMethod(one))
  assert.ok(methods.length > 60)
  const bare = [...symbols, ...methods].filter(one => one.getDocumentationComment(checker).length === 0).map(one => one.name)
  assert.deepEqual(bare, [])
})

test('the package says what it is', () => {
  const description = JSON.parse(readFileSync(new URL('../package.json', import.meta.url)))
  for (const { types, default: code } of Object.values(description.exports).filter(one => typeof one === 'object')) {
    for (const path of [types, code]) readFileSync(new URL(`../${path}`, import.meta.url))
  }
  // Resolvers that know no `exports`, as TypeScript's "node", find the modules' declarations, too.
  const entries = Object.entries(description.exports).filter(([name, one]) => name !== '.' && typeof one === 'object')
  assert.deepEqual(description.typesVersions['*'], Object.fromEntries(entries.map(([name, { types }]) => [name.slice(2), [types]])))
  assert.equal(description.dependencies, undefined)
  assert.equal(readFileSync(new URL('../LICENSE', import.meta.url), 'utf8'), readFileSync(new URL('../../../LICENSE', import.meta.url), 'utf8'))
})
