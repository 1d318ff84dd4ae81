import Foundation
import TestSupport

/// Ends a test that runs in a process of its own, as failed.
func demand(_ isSo: Bool) {
  if !isSo { exit(EXIT_FAILURE) }
}

/// Ends a test that runs in a process of its own, as failed, unless it has ended
/// by itself before.
func giveUp() { OwnProcess.fail(after: Event.patienceForWork) }
