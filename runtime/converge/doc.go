// Package converge is the convergence rule: which findings go to which judges,
// what their verdicts settle, and when it ends. Everything in it is a pure
// function of documents that workers wrote: it reads no file, keeps no state
// between calls, and branches on no task type, provider or model. The same
// inputs give the same bytes, in whatever order they arrive.
//
// A driver goes through one loop:
//
//	s := converge.Start(input)
//	for p := s.Next(); p != nil; p = s.Next() {
//		// persist p, ask p.Judges, read what they wrote
//		s = s.Judge(p, answers)
//	}
//
// and may at any time start again from the documents and the persisted round
// plans, since Start and Judge depend on nothing else.
package converge
