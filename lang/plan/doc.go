// Package plan holds the dispatch plan as a value: what a run definition
// compiled to, what of it is still to be done, and what it can cost at worst.
//
// It owns the vocabulary that every other package shares (statuses, reasons,
// access, rounds, batches), canonical JSON with its digests, and the
// difference between a definition and a record. It holds no behaviour that
// touches the world: it reads no file, starts nothing, and knows neither HCL
// nor any backend. The subpackage paths names every file under .okstra.
package plan
