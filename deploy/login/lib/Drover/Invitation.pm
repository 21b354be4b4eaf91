package Drover::Invitation;

# Plugin of the portal: a person follows a link of `people`, chooses a password, and continues in the console. It is
# LemonLDAP::NG's reset of passwords without mail: the form that asks for an address, and the messages, are left out.

use strict;
use Mouse;
use Lemonldap::NG::Portal::Main::Constants qw(PE_MAILOK);

extends 'Lemonldap::NG::Portal::Plugins::MailPasswordReset';

our $VERSION = '1.0.0';

sub init {
    my ($self) = @_;
    # Also in a browser where somebody is logged in.
    $self->addAuthRoute( resetpwd => 'resetPwd', [ 'POST', 'GET' ] );
    return $self->SUPER::init;
}

sub resetPwd {
    my ( $self, $req ) = @_;
    my $console = $self->conf->{customPluginsParams}->{console};
    return redirect($console) unless $req->param('mail_token') || $req->param('token');
    $self->p->controlUrl($req);
    $req->error( $self->_reset($req) );
    return redirect($console) if $req->error == PE_MAILOK;
    my ( $template, $parameters ) = $self->display($req);
    return $self->p->sendHtml( $req, $template, params => $parameters );
}

sub redirect { return [ 302, [ Location => $_[0], 'Cache-Control' => 'no-store' ], [] ] }

sub send_mail { return 1 }

1;
