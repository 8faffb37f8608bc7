-- How much of the database's file is in use; only a copy returns freed blocks to the disk.
-- Returns one row: bytes in the file, and bytes in blocks that hold something.
select
    total_blocks * block_size as file_bytes,
    used_blocks * block_size as used_bytes
from pragma_database_size()
where database_name = current_database()
