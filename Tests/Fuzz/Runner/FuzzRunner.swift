import FuzzTargets
import Platform

// libFuzzer's entry points: <https://llvm.org/docs/LibFuzzer.html>. Its own `main` calls them. One program holds all targets,
// so it is built and linked once; UNDERSTUDY_FUZZ_TARGET says which one it runs.

/// The target that this process runs.
private let target: FuzzTarget = {
    let name = getenv("UNDERSTUDY_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        write("UNDERSTUDY_FUZZ_TARGET must be one of: \(FuzzTarget.all.map(\.name).joined(separator: " "))")
        exit(64)
    }
    return target
}()

private func write(_ line: String) {
    let text = line + "\n"
    _ = Platform.write(STDERR_FILENO, text, text.utf8.count)
}

/// A finding ends the process, by which libFuzzer knows it and keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do { try target.run(Array(UnsafeBufferPointer(start: bytes, count: count))) } catch {
        write("FINDING: \(error)")
        abort()
    }
    return 0
}

@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// Called by libFuzzer in place of its own mutation, which still does a quarter, and all where a target has none.
@_cdecl("LLVMFuzzerCustomMutator")
func mutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32) -> Int {
    guard let change = target.mutate, seed % 4 != 0 else { return mutateBytes(bytes, count, limit) }
    var random = FuzzRandom(seed: UInt64(seed))
    let changed = change(Array(UnsafeBufferPointer(start: bytes, count: count)), &random)
    guard changed.count <= limit else { return mutateBytes(bytes, count, limit) }
    for (place, byte) in changed.enumerated() { bytes[place] = byte }
    return changed.count
}
