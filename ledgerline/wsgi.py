"""The web server's entry point. It does not serve with settings that the system checks refuse."""

import os

from django.core.wsgi import get_wsgi_application

from ledgerline import checks
from ledgerline.env import BadSetting

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ledgerline.settings")

try:
    application = get_wsgi_application()
except BadSetting as error:
    checks.stop(str(error))
checks.stop_on_errors()
