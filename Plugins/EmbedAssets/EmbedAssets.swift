import Foundation
import PackagePlugin

/// Writes a source file that holds the scripts, style sheets and texts of a target's pages, from its folder `Assets`, and the
/// documents that are listed there: a shell script's work, run in every build, for the reasons that EmbedSeedData gives.
@main
struct EmbedAssets: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let output = context.pluginWorkDirectoryURL.appending(path: "Assets.swift")
        return [
            .buildCommand(
                displayName: "Embedding assets of \(target.name)", executable: URL(filePath: "/bin/sh"),
                arguments: [
                    context.package.directoryURL.appending(path: "Plugins/EmbedAssets/embed.sh").path(),
                    target.directoryURL.appending(path: "Assets").path(), output.path(),
                    context.package.directoryURL.path(),
                ],
                inputFiles: [context.pluginWorkDirectoryURL], outputFiles: [output])
        ]
    }
}
