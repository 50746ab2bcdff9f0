/// What replicas know of all worlds together, whichever of them holds one. Each call is one short transaction.
package protocol WorldDirectory: Sendable {
    /// Every world that there is, with the seconds since any replica has noted a use of it.
    func list() throws(StoreFailure) -> [(name: String, idle: Int)]

    /// Whether there is a world of this name.
    func has(_ name: String) throws(StoreFailure) -> Bool

    /// How many there are.
    func count() throws(StoreFailure) -> Int

    /// The worlds of these names are used now.
    func noteUse(of names: [String]) throws(StoreFailure)

    /// Removes worlds for whose use nobody has noted for so many seconds: at most `count`, the least recently used first, and never
    /// the one called `kept`. Returns their names. Of several replicas that ask at once, each removes others.
    func removeIdle(_ seconds: Int, atMost count: Int, but kept: String) throws(StoreFailure) -> [String]
}
