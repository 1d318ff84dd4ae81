import Foundation

// Plays a scene on the main thread, in a closure that serves a nested run loop.
//
//   NestedRunLoops SCENE (performed | queued)
//
// `performed`: the main run loop performs the block in which the closure runs. `queued`: that
// is a block of the main queue. Exits with 0 if what the closure starts is carried out before
// the closure returns, with 1 if not.

let arguments = CommandLine.arguments
guard arguments.count == 3, let scene = Scene(rawValue: arguments[1]) else { exit(2) }

switch arguments[2] {
case "performed": RunLoop.main.perform { [scene] in MainActor.assumeIsolated { scene.play() } }
case "queued": DispatchQueue.main.async { [scene] in scene.play() }
default: exit(2)
}
RunLoop.main.run()
