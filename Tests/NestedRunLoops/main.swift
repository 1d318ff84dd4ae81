import Foundation

// Runs a scene on the main thread, in a closure that serves a nested run loop.
//
//   NestedRunLoops SCENE (performed | queued)
//
// `performed`: the closure runs in a block that the main run loop performs. `queued`: it
// runs in a block of the main queue. The program exits with 0 if the work that the
// closure starts is complete before the closure returns, and with 1 if not.

let arguments = CommandLine.arguments
guard arguments.count == 3, let scene = Scene(rawValue: arguments[1]) else { exit(2) }

switch arguments[2] {
case "performed": RunLoop.main.perform { [scene] in MainActor.assumeIsolated { scene.play() } }
case "queued": DispatchQueue.main.async { [scene] in scene.play() }
default: exit(2)
}
RunLoop.main.run()
