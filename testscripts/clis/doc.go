// Package clis holds the stories that run the real worker CLIs, from their
// packages in the npm registry, against the model server of this repository:
// no account, no network, three calls of a model each. They are no part of the
// default tests:
//
//	testscripts/clis/install.sh                        # once, into a cache folder
//	OKSTRA_TEST_CLIS=1 go test ./testscripts/clis      # or: make test-clis
//
// The tests run in a network namespace that holds only the loopback device
// (Linux; as root, or where users may make namespaces). Where that is not to
// be had they say so and run nothing.
package clis
