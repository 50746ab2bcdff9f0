/** A scenario, which is a ready-made situation. seed-data/scenarios has a page for each. */
export interface Scenario {
  name: string
  title: string
  /** The situation that a client meets. */
  happens: string
  /** Whether the scenario is being played. */
  played: boolean
}

/** The daemon's scenarios, which can be played in a world. */
export interface Scenarios {
  /** Lists the scenarios. */
  list(): Promise<Scenario[]>
  /** Returns the orders of a scenario, as its file has them. */
  get(name: string): Promise<{ name: string } & Record<string, unknown>>
  /** Begins a scenario with values for its parameters. The `advice` in the result says what a correct client does. */
  play(name: string, parameters?: Record<string, unknown>): Promise<{ scenario: string; title: string; happens: string; advice: string }>
  /** Ends a scenario: removes its faults and outcomes, and sets the clock back. Returns whether anything was undone. */
  end(name: string): Promise<boolean>
}
