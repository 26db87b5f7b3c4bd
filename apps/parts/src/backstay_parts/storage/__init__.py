"""Object storage behind one interface: a folder, S3, or the routes of Supabase Storage."""

from backstay_parts.storage.contract import (
    BadKey,
    ObjectInfo,
    ObjectNotFound,
    Storage,
    StorageError,
    StorageRefused,
    StorageUnavailable,
)
from backstay_parts.storage.folder import FolderStorage
from backstay_parts.storage.s3 import S3Storage
from backstay_parts.storage.supabase import SupabaseServer, SupabaseStorage

__all__ = [
    "BadKey",
    "FolderStorage",
    "ObjectInfo",
    "ObjectNotFound",
    "S3Storage",
    "Storage",
    "StorageError",
    "StorageRefused",
    "StorageUnavailable",
    "SupabaseServer",
    "SupabaseStorage",
]
