// The minimal cost of launching programs with Foundation's `Process`: bare-process COUNT
// JOBS.
import Foundation

let count = Int(CommandLine.arguments[1])!
let jobs = Int(CommandLine.arguments[2])!
let ended = DispatchSemaphore(value: 0)
let room = DispatchSemaphore(value: jobs)
for _ in 0..<count {
  room.wait()
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/bin/sh")
  process.arguments = ["-e", "-c", "true"]
  process.standardInput = FileHandle.nullDevice
  process.terminationHandler = { _ in
    room.signal()
    ended.signal()
  }
  try process.run()
}
for _ in 0..<count { ended.wait() }
