import HTTPServer
import JSON
import EmulatorCore

// GET /_understudy/v1/worlds; DELETE /_understudy/v1/worlds/NAME

extension ControlAPI {
    func listWorlds(_ exchange: Exchange) -> Response {
        let all = worlds.all.map { entry -> JSONValue in
            [
                "name": .string(entry.world.name), "idleSeconds": .integer(Int64(entry.idle)),
                "requests": .integer(Int64(entry.world.recording.count)),
            ]
        }
        return ControlAnswer.ok([
            "worlds": .array(all), "limit": .integer(Int64(WorldRegistry.limit)),
            "droppedAfterIdleSeconds": .integer(Int64(WorldRegistry.idleLimit)),
        ])
    }

    func removeWorld(_ exchange: Exchange) -> Response {
        let name = exchange.parameters["name"] ?? ""
        guard name != WorldRegistry.defaultName else {
            return ControlAnswer.error(
                409, "defaultWorld", "the default world stays: POST reset makes it afresh")
        }
        guard worlds.drop(name) else {
            return ControlAnswer.error(404, "noSuchWorld", "there is no world \(Diagnosis.quote(name)) now")
        }
        return Response(status: 204)
    }
}
