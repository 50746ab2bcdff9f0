import ArgumentParser
import EmulatorCore
import Understudy

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Decode a token, nonce or client secret and say what is wrong with it.",
        discussion: "A value @FILE is read from the file FILE. Exits with code 1 if a value is invalid.")

    @Option(help: ArgumentHelp("An ID token.", valueName: "token"))
    var idToken: String?

    @Option(help: ArgumentHelp("The raw nonce, as the app stored it.", valueName: "nonce"))
    var rawNonce: String?

    @Option(help: ArgumentHelp(ExplainCommand.help(.clientSecret), valueName: "jwt"))
    var clientSecret: String?

    @Option(help: ArgumentHelp(ExplainCommand.help(.accessToken, "an ID token"), valueName: "token"))
    var token: String?

    @Option(help: ArgumentHelp("The provider's key set, to check the ID token's signature.", valueName: "url-or-file"))
    var jwks: String?

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp(
            "Seed files with the teams and keys against which to check a client secret.", valueName: "path"),
        completion: .file())
    var seeds: [String] = []

    /// Returns the help text for an argument of `understudy explain`: the values that the providers can explain,
    /// followed by `others`.
    private static func help(_ value: ExplainedValue, _ others: String...) -> String {
        (Providers.explained(value) + others).joined(separator: ", or ") + "."
    }

    func validate() throws {
        guard idToken != nil || rawNonce != nil || clientSecret != nil || token != nil else {
            throw ValidationError("Give --id-token, --token, --raw-nonce or --client-secret.")
        }
    }

    func run() throws {
        do {
            let explanation = try Explanation(
                idToken: read(idToken), rawNonce: read(rawNonce), clientSecret: read(clientSecret), token: read(token),
                jwks: jwks.map { try Explanation.readKeySet($0) }, seeds: seeds.map { .path($0) })
            for (heading, findings) in explanation.sections {
                Terminal.print(heading)
                for finding in findings {
                    let mark = finding.holds.map { $0 ? "ok   " : "WRONG" } ?? "     "
                    Terminal.print("  \(mark)  \(finding.text)")
                }
            }
            if !explanation.isClean { throw ExitCode(1) }
        } catch let error as StartError {
            Terminal.complain("understudy: \(error)")
            throw ExitCode(1)
        }
    }

    private func read(_ value: String?) throws -> String? {
        guard let value, value.hasPrefix("@") else { return value }
        let path = String(value.dropFirst())
        let text: String
        do { text = try File.text(at: path) } catch { throw ValidationError("The file \(error).") }
        // A file's last line break isn't part of the value.
        return text.last == "\n" ? String(text.dropLast()) : text
    }
}
