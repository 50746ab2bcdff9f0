import Testing
import Understudy
import UnderstudyClient

@Suite("What leads another process to a world")
struct EnvironmentTests {
    @Test("is what exec sets for the same address")
    func variables() {
        let daemon = UnderstudyClient.Understudy(url: "http://127.0.0.1:9099", controlToken: "0123456789abcdef")
        let world = daemon.world("w1")
        var expected = Dictionary(
            Providers.variables(daemon: world.url).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        expected["UNDERSTUDY_URL"] = world.url
        expected["UNDERSTUDY_CONTROL_URL"] = "\(world.url)/_understudy/v1"
        expected["UNDERSTUDY_CONTROL_TOKEN"] = "0123456789abcdef"
        #expect(world.environment == expected)
        #expect(UnderstudyClient.Understudy(environment: world.environment).world() == world)
    }
}
