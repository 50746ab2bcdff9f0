/** A ready-made situation: seed-data/scenarios has a page for each. */
export interface Scenario {
  name: string
  title: string
  /** The situation that a client meets. */
  happens: string
  /** Whether it is in force. */
  played: boolean
}

/** Ready-made situations, and those that are played in a world. */
export interface Scenarios {
  /** The scenarios that there are. */
  list(): Promise<Scenario[]>
  /** The orders of a scenario, as in its file. */
  get(name: string): Promise<{ name: string } & Record<string, unknown>>
  /** Begins a scenario, with values for its parameters. `advice` says what a correct client does. */
  play(name: string, parameters?: Record<string, unknown>): Promise<{ scenario: string; title: string; happens: string; advice: string }>
  /** Ends one: its faults and outcomes go, the clock goes back. Answers whether anything was undone. */
  end(name: string): Promise<boolean>
}
