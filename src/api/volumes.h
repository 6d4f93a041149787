// SPDX-License-Identifier: Apache-2.0
// What a pod's volumes hang on: PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, as
// far as scheduling reads them. They are only ever patched, so the rest may be dropped on decoding.
#pragma once

#include "api/core.h"
#include "api/pod.h"

namespace sky::api {

struct PersistentVolumeClaimSpec {
  std::string volume_name, volume_mode;  // volumeMode "": Filesystem
  std::optional<std::string> storage_class_name, volume_attributes_class_name;
  std::vector<std::string> access_modes;
  std::optional<LabelSelector> selector;
  ResourceRequirements resources;
  bool operator==(const PersistentVolumeClaimSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("accessModes", s.access_modes), v("selector", s.selector), v("resources", s.resources);
    v("volumeName", s.volume_name), v("storageClassName", s.storage_class_name);
    v("volumeMode", s.volume_mode), v("volumeAttributesClassName", s.volume_attributes_class_name);
  }
};

struct PhaseStatus {  // of claims and volumes alike
  std::string phase;
  bool operator==(const PhaseStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("phase", s.phase);
  }
};

struct PersistentVolumeClaim {
  ObjectMeta metadata;
  PersistentVolumeClaimSpec spec;
  PhaseStatus status;
  bool operator==(const PersistentVolumeClaim&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct VolumeNodeAffinity {
  std::optional<NodeSelector> required;
  bool operator==(const VolumeNodeAffinity&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("required", s.required);
  }
};

struct CsiSource {
  std::string driver, volume_handle;
  bool operator==(const CsiSource&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("driver", s.driver), v("volumeHandle", s.volume_handle);
  }
};

struct PersistentVolumeSpec {
  ResourceList capacity;
  std::vector<std::string> access_modes;
  std::string storage_class_name, volume_mode;
  std::optional<std::string> volume_attributes_class_name;
  std::optional<ObjectReference> claim_ref;
  std::optional<VolumeNodeAffinity> node_affinity;
  std::optional<CsiSource> csi;
  bool operator==(const PersistentVolumeSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("capacity", s.capacity), v("accessModes", s.access_modes), v("claimRef", s.claim_ref);
    v("storageClassName", s.storage_class_name), v("volumeMode", s.volume_mode);
    v("volumeAttributesClassName", s.volume_attributes_class_name);
    v("nodeAffinity", s.node_affinity), v("csi", s.csi);
  }
};

struct PersistentVolume {
  ObjectMeta metadata;
  PersistentVolumeSpec spec;
  PhaseStatus status;
  bool operator==(const PersistentVolume&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct TopologySelectorTerm {
  std::vector<SelectorRequirement> match_label_expressions;  // the operator is In, and not said
  bool operator==(const TopologySelectorTerm&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("matchLabelExpressions", s.match_label_expressions);
  }
};

struct StorageClass {
  ObjectMeta metadata;
  std::string provisioner, volume_binding_mode;
  std::vector<TopologySelectorTerm> allowed_topologies;
  bool operator==(const StorageClass&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("provisioner", s.provisioner);
    v("volumeBindingMode", s.volume_binding_mode), v("allowedTopologies", s.allowed_topologies);
  }
};

struct CsiDriverLimit {
  std::optional<int32_t> count;  // of volumes
  bool operator==(const CsiDriverLimit&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("count", s.count);
  }
};

struct CsiNodeDriver {
  std::string name;
  std::optional<CsiDriverLimit> allocatable;
  bool operator==(const CsiNodeDriver&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("name", s.name), v("allocatable", s.allocatable);
  }
};

struct CSINode {  // named after its node
  ObjectMeta metadata;
  struct Spec {
    std::vector<CsiNodeDriver> drivers;
    bool operator==(const Spec&) const = default;
    template <class Self, class V>
    static void Fields(Self& s, V&& v) {
      v("drivers", s.drivers);
    }
  } spec;
  bool operator==(const CSINode&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec);
  }
};

}  // namespace sky::api
