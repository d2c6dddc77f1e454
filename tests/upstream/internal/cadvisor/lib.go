// SPDX-License-Identifier: Apache-2.0

//go:build since_1.37

package cadvisor

import (
	"github.com/google/cadvisor/lib/model"
	"github.com/google/cadvisor/lib/utils/sysfs"
	"github.com/google/cadvisor/lib/utils/sysinfo"
)

type (
	MachineInfo   = model.MachineInfo
	Node          = model.Node
	Core          = model.Core
	Cache         = model.Cache
	HugePagesInfo = model.HugePagesInfo
	SysFs         = sysfs.SysFs
	CacheInfo     = sysfs.CacheInfo
)

var (
	NewRealSysFs     = sysfs.NewRealSysFs
	GetNodesInfo     = sysinfo.GetNodesInfo
	GetHugePagesInfo = sysinfo.GetHugePagesInfo
)
