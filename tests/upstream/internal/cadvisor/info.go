// SPDX-License-Identifier: Apache-2.0

//go:build !since_1.37

// Package cadvisor is what the kubelet knows of machines, from where the cadvisor that it is built with has it.
package cadvisor

import (
	"github.com/google/cadvisor/info/v1"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/google/cadvisor/utils/sysinfo"
)

type (
	MachineInfo   = v1.MachineInfo
	Node          = v1.Node
	Core          = v1.Core
	Cache         = v1.Cache
	HugePagesInfo = v1.HugePagesInfo
	SysFs         = sysfs.SysFs
	CacheInfo     = sysfs.CacheInfo
)

var (
	NewRealSysFs     = sysfs.NewRealSysFs
	GetNodesInfo     = sysinfo.GetNodesInfo
	GetHugePagesInfo = sysinfo.GetHugePagesInfo
)
