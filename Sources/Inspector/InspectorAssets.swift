import EmulatorCore
import HTTPServer
import JOSE

/// A style sheet or a script. Its address changes with its content, so browsers may cache it forever.
struct Asset: Sendable {
    let name: String
    let type: String
    let text: String
    private let version: String

    init(name: String, type: String, text: String) {
        self.name = name
        self.type = type
        self.text = text
        version = String(Hex.encode(Digest.sha256(text)).prefix(16))
    }

    /// The path below the inspector's address.
    var path: String { "assets/\(name)?v=\(version)" }

    var response: Response {
        Response(
            status: 200, contentType: type,
            headers: [
                (name: "Cache-Control", value: "public, max-age=31536000, immutable"),
                (name: "X-Content-Type-Options", value: "nosniff"),
            ], body: text)
    }
}

enum InspectorAssets {
    /// All style sheets of the folder `Assets`, in the order of their names: `base` comes first.
    static let styleSheet = Asset(
        name: "inspector.css", type: "text/css;charset=UTF-8",
        text: StyleSheets.all.map { "\($0.text)" }.joined())

    /// The scripts by their files' names without `.js`.
    static let scripts = Dictionary(
        uniqueKeysWithValues: Scripts.all.map { script in
            let type = "text/javascript;charset=UTF-8"
            return (script.name, Asset(name: "\(script.name).js", type: type, text: "\(script.text)"))
        })
}

extension Inspector {
    var assetEndpoints: [Endpoint] {
        ([InspectorAssets.styleSheet] + InspectorAssets.scripts.values).map { asset in
            Endpoint("GET", [], "\(Inspector.root)/assets/\(asset.name)", nil) { _ in asset.response }
        }
    }
}
