import Foundation
import PackagePlugin

/// Writes a source file that holds the built-in seed, its keys and the scenarios, from `seed-data`.
///
/// The work is a shell script's and not a tool's of this package, because a tool would be built with the flags of the build
/// that needs it: with libFuzzer's, it would have no `main` of its own.
@main
struct EmbedSeedData: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let root = context.package.directoryURL
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
        return [
            .buildCommand(
                displayName: "Embedding seed-data", executable: URL(filePath: "/bin/sh"),
                arguments: [
                    root.appending(path: "Plugins/EmbedSeedData/embed.sh").path(),
                    root.appending(path: "seed-data").path(), output.path(),
                ],
                // SwiftPM doesn't ask this plugin again when a file comes or goes, so that a list of files would be out of
                // date. The script changes the output's folder each time, and so runs in every build; it leaves the output
                // alone when nothing has changed.
                inputFiles: [context.pluginWorkDirectoryURL], outputFiles: [output])
        ]
    }
}
