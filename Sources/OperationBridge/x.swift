import Futures
