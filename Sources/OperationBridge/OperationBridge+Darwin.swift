import Foundation

// All of this module that is another on Apple's platforms than on Linux.

#if canImport(ObjectiveC)
  import ObjectiveC

  /// Calls a closure, and releases what it leaves in the pool of the thread.
  ///
  /// "autoreleasepool(invoking:)", and "Threading Programming Guide", "Creating an
  /// Autorelease Pool": a thread that lives long empties its pool itself.
  func releasingAtOnce(_ body: () -> Void) { autoreleasepool(invoking: body) }
#else
  func releasingAtOnce(_ body: () -> Void) { body() }
#endif
