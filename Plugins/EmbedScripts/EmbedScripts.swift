import Foundation
import PackagePlugin

/// Writes a source file that holds the scripts of a target's pages, from its folder `WebFlow/Scripts`: a shell script's work,
/// run in every build, for the reasons that EmbedSeedData gives.
@main
struct EmbedScripts: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let output = context.pluginWorkDirectoryURL.appending(path: "Scripts.swift")
        return [
            .buildCommand(
                displayName: "Embedding scripts of \(target.name)", executable: URL(filePath: "/bin/sh"),
                arguments: [
                    context.package.directoryURL.appending(path: "Plugins/EmbedScripts/embed.sh").path(),
                    target.directoryURL.appending(path: "WebFlow/Scripts").path(), output.path(),
                ],
                inputFiles: [context.pluginWorkDirectoryURL], outputFiles: [output])
        ]
    }
}
