python manage.py audit_uniqueness
python manage.py audit_uniqueness --format json
python manage.py check --database default
