import Futures
import Synchronization

// The thread sanitizer does not see through a contended `Mutex`; the library's lock
// supports it.
#if PROPERATIONS_THREAD_SANITIZER
  package typealias TestLock<State> = Futures.Lock<State>
#else
  package typealias TestLock<State> = Mutex<State>
#endif
