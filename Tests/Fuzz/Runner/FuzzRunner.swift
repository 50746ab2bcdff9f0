import FuzzTargets
import Platform

// libFuzzer's `main` calls these functions: <https://llvm.org/docs/LibFuzzer.html>. One program holds all targets, so
// that it is built and linked only once. UNDERSTUDY_FUZZ_TARGET names the target that it runs.

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

/// Runs the target with an input. A finding ends the process, so that libFuzzer notices it and keeps the input.
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

/// libFuzzer calls this function to change an input. A quarter of the changes, and all of a target without a `mutate`,
/// are left to libFuzzer's own mutation.
@_cdecl("LLVMFuzzerCustomMutator")
func mutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32) -> Int {
    guard let change = target.mutate, seed % 4 != 0 else { return mutateBytes(bytes, count, limit) }
    var random = FuzzRandom(seed: UInt64(seed))
    let changed = change(Array(UnsafeBufferPointer(start: bytes, count: count)), &random)
    guard changed.count <= limit else { return mutateBytes(bytes, count, limit) }
    for (place, byte) in changed.enumerated() { bytes[place] = byte }
    return changed.count
}
