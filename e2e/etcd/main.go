// SPDX-License-Identifier: Apache-2.0

// etcd as its own module builds it, so that e2e needs no etcd from the machine.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
